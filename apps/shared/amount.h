#pragma once
#include "nn/amount.h"

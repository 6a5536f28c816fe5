#include "apps/shared/amount.h"

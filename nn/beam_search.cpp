#include "nn/beam_search.h"

// A Transformer that sorts.
#pragma once

/// Trains it on random sequences; true if it then sorts nearly all that it has not seen.
bool learns_to_sort();

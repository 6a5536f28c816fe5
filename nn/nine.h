// All that a program that defines and trains a model needs, by one name.
//
//   #include "nn/nine.h"
//
//   find_package(Nine REQUIRED)                              # CMakeLists.txt
//   target_link_libraries(program PRIVATE Nine::nine)
//
// docs/tour.md goes through it by example. Programs that use little may include what they use.
#pragma once

#include "autograd/functions.h"          // functions of Vars, with their gradients
#include "autograd/gradcheck.h"          // gradients against finite differences
#include "core/error.h"                  // Error, require
#include "core/ops.h"                    // the op list on plain views, for functions of your own
#include "core/random.h"                 // RandomStream: numbers from a seed
#include "core/safetensors.h"            // files of tensors
#include "core/threads.h"                // set_threads
#include "kernels/kernel_softmax.h"      // the output layer
#include "nn/layers.h"                   // Embedding, Linear, LayerNorm, Lstm
#include "nn/parameters.h"               // a model's parameters, saved and loaded
#include "nn/training/simple_trainer.h"  // one update in one call

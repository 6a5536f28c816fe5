// Everything that a program needs to define, train and use a model, in one header.
//
//   #include "nn/nine.h"
//
//   find_package(Nine REQUIRED)                              # CMakeLists.txt
//   target_link_libraries(program PRIVATE Nine::nine)
//
// docs/tour.md shows it by example. A program may instead include single headers of this list;
// others are not for use outside of Nine.
#pragma once

// Tensors, functions and their gradients
#include "autograd/functions.h"  // functions of Vars, with their gradients
#include "autograd/gradcheck.h"  // gradients against finite differences
#include "core/error.h"          // Error, require
#include "core/ops.h"            // the op list on plain views, for functions of your own
#include "core/random.h"         // RandomStream: numbers from a seed
#include "core/safetensors.h"    // files of tensors
#include "core/threads.h"        // set_threads

// Layers
#include "kernels/kernel_softmax.h"        // the output layer as a function
#include "nn/carried_state.h"              // an LSTM's state between segments of a text
#include "nn/dropout.h"                    // Dropout
#include "nn/embedding.h"                  // Embedding
#include "nn/feed_forward.h"               // FeedForward
#include "nn/init.h"                       // Init: values before training
#include "nn/layer_norm.h"                 // LayerNorm
#include "nn/linear.h"                     // Linear
#include "nn/lstm.h"                       // Lstm
#include "nn/multi_head_attention.h"       // MultiHeadAttention
#include "nn/parameters.h"                 // a model's parameters, saved and loaded
#include "nn/softmax_head.h"               // the output layer with its parameters
#include "nn/transformer_decoder_layer.h"  // TransformerDecoderLayer
#include "nn/transformer_encoder_layer.h"  // TransformerEncoderLayer

// Training
#include "nn/training/simple_trainer.h"  // one update in one call

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

// Models, and what uses a trained one
#include "nn/models/beam_search.h"          // BeamSearch: translations of ids, and their scores
#include "nn/models/compare_models.h"       // two language models on one text
#include "nn/models/component_shares.h"     // what a mixture's components do at each token
#include "nn/models/generate_text.h"        // continuing prompts, a batch at a time
#include "nn/models/initial_weights.h"      // training on from a trained model
#include "nn/models/language_model.h"       // LanguageModel: opens and uses what lm_train made
#include "nn/models/lstm_language_model.h"  // LstmLanguageModel: the network
#include "nn/models/model_directory.h"      // where a trained model's files are
#include "nn/models/sampling.h"             // choosing the next word
#include "nn/models/score_text.h"           // log-probabilities of a text, sentence by sentence
#include "nn/models/transformer.h"          // Transformer: the network
#include "nn/models/translation_config.h"   // a translation model's keys in config.json
#include "nn/models/translation_text.h"     // text to ids and back
#include "nn/models/translator.h"           // Translator: opens and uses what mt_train made
#include "nn/models/word_expectations.h"    // the likeliest words at each position, one by one

// Training
#include "nn/training/checkpoint.h"           // checkpoints that survive a kill at any moment
#include "nn/training/evaluation.h"           // Evaluation: nats, perplexity, BLEU
#include "nn/training/language_model_task.h"  // what lm_train trains
#include "nn/training/optimizer.h"            // Optimizer, make_optimizer
#include "nn/training/schedule.h"             // learning rates
#include "nn/training/simple_trainer.h"       // one update in one call
#include "nn/training/train_step.h"           // one update of micro-batches
#include "nn/training/trainer.h"              // the training loop with validation and checkpoints
#include "nn/training/training_length.h"      // 10e, 300Ku, 20Mt
#include "nn/training/translation_task.h"     // what mt_train trains

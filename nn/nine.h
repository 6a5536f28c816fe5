// Everything that a program needs to define, train and use a model, in one header.
//
//   #include "nn/nine.h"
//
//   find_package(Nine REQUIRED)                              # CMakeLists.txt
//   target_link_libraries(program PRIVATE Nine::nine)
//
// docs/tour.md shows it by example. A program may include single headers instead. The installation
// contains these headers and the headers that they include; cmake/public_headers.cmake lists them.
#pragma once

// Start here: the eight headers that a program needs first
#include "autograd/functions.h"           // operators and functions of Vars, with their gradients
#include "core/tensor.h"                  // Tensor: owns memory; View: points into memory
#include "kernels/loss/kernel_softmax.h"  // the output layer as a function
#include "nn/models/language_model.h"     // LanguageModel: opens and uses what lm_train made
#include "nn/models/translator.h"         // Translator: opens and uses what mt_train made
#include "nn/parameters.h"                // a model's parameters, saved and loaded
#include "nn/softmax_head.h"              // the output layer with its parameters
#include "nn/training/simple_trainer.h"   // one update in one call

// Tensors, functions and their gradients
#include "autograd/arrays.h"           // reductions, joining, picking and sorting, as in NumPy
#include "autograd/gradcheck.h"        // gradients against finite differences
#include "autograd/gru.h"              // the recurrent part of a GRU
#include "autograd/image_functions.h"  // convolution, pooling, batch and group norm
#include "autograd/losses.h"           // binary and weighted cross-entropy, KL divergence
#include "core/array_ops.h"            // the ops of autograd/arrays.h on Views
#include "core/caller_stream.h"        // another library's stream of a GPU
#include "core/error.h"                // Error, require
#include "core/huge_pages.h"           // prefer_huge_pages: for large blocks of memory
#include "core/interrupt.h"            // InterruptCheck: ends a long op early
#include "core/least_memory.h"         // less working memory for a loss
#include "core/matmul_precision.h"     // set_matmul_precision: highest, high, medium
#include "core/notice.h"               // set_notices: where notices about files go
#include "core/ops.h"                  // ops on Views, without gradients; for new functions
#include "core/random.h"               // RandomStream: numbers from a seed
#include "core/safetensors.h"          // files of tensors
#include "core/threads.h"              // set_threads, in_team
#include "kernels/install_cuda.h"      // install_cuda: before the first use of a GPU

// Layers
#include "kernels/settings/learned_numbers.h"  // trained parameters of an output layer's kernels
#include "nn/batch_norm.h"                     // BatchNorm
#include "nn/bidirectional_lstm.h"             // BidirectionalLstm
#include "nn/carried_state.h"                  // an LSTM's state between segments of a text
#include "nn/convolution.h"                    // Conv1d, Conv2d
#include "nn/dropout.h"                        // Dropout
#include "nn/embedding.h"                      // Embedding
#include "nn/feed_forward.h"                   // FeedForward
#include "nn/group_norm.h"                     // GroupNorm
#include "nn/gru.h"                            // Gru
#include "nn/init.h"                           // Init: values before training
#include "nn/key_value_cache.h"                // keys and values of earlier positions
#include "nn/layer_norm.h"                     // LayerNorm
#include "nn/linear.h"                         // Linear
#include "nn/lstm.h"                           // Lstm
#include "nn/multi_head_attention.h"           // MultiHeadAttention
#include "nn/norm.h"                           // RmsNorm, and Norm of any kind
#include "nn/pooling.h"                        // MaxPool, AvgPool
#include "nn/rotary_angles.h"                  // RotaryAngles: positions inside of attention
#include "nn/rotary_scaling.h"                 // RotaryScaling: angles for longer texts
#include "nn/transformer_decoder_layer.h"      // TransformerDecoderLayer
#include "nn/transformer_encoder_layer.h"      // TransformerEncoderLayer
#include "nn/transformer_style.h"              // TransformerStyle: norms, positions, activation

// Trained models, and the networks behind them
#include "nn/models/beam_search.h"          // BeamSearch: translations of ids, and their scores
#include "nn/models/compare_models.h"       // two language models on one text
#include "nn/models/known_words.h"          // whether a text fits models
#include "nn/models/language_network.h"     // what the networks of language models share
#include "nn/models/lstm_language_model.h"  // LstmLanguageModel: the network
#include "nn/models/same_models.h"          // whether two models are one
#include "nn/models/sampling.h"             // choosing the next word
#include "nn/models/sentence_scores.h"      // sentences under several language models, interpolated
#include "nn/models/step_decoder.h"         // reading texts word by word
#include "nn/models/transformer.h"          // Transformer: the network
#include "nn/models/transformer_language_model.h"  // TransformerLanguageModel: the network
#include "nn/models/word_surprisals.h"  // the surprisal of words under a model of raw text

// Text
#include "data/bpe.h"                         // subwords: applying BPE codes
#include "data/bpe_learn.h"                   // learning BPE codes
#include "data/detokenize.h"                  // prose from tokenised text
#include "data/measures/bleu.h"               // BLEU as sacreBLEU computes it
#include "data/measures/bootstrap.h"          // intervals
#include "data/measures/chrf.h"               // chrF
#include "data/measures/list_warnings.h"      // lists that do not fit
#include "data/measures/posteriors.h"         // posteriors of a list, confidences, least risk
#include "data/measures/rescoring.h"          // choosing among n-best hypotheses
#include "data/measures/significance.h"       // tests and quantiles
#include "data/measures/weight_search.h"      // minimum error rate training
#include "data/measures/word_errors.h"        // word error rate as sclite counts it
#include "data/n_best.h"                      // n-best lists
#include "data/ngram_model.h"                 // n-gram models in ARPA format
#include "data/spelled_specials.h"            // words that are spelled as special words
#include "data/tokenize_13a.h"                // sacreBLEU's words of raw text
#include "data/tokenizers/model_tokenizer.h"  // the tokenizer of a model that reads raw text
#include "data/tokenizers/read_tokenizer.h"   // tokenizers of raw text
#include "data/tokenizers/train_tokenizer.h"  // learning tokenizers
#include "data/transcripts.h"                 // reference texts of utterances
#include "data/unknown_words.h"               // whether a vocabulary fits a text
#include "data/vocabulary.h"                  // words and their ids

// Training
#include "data/batches.h"                // Batches: shuffled mini-batches
#include "nn/gradcheck_model.h"          // gradcheck of all parameters of a model
#include "nn/training/low_rank.h"        // LowRankConfig: LoRA
#include "nn/training/optimizer.h"       // Optimizer, make_optimizer
#include "nn/training/schedule.h"        // learning rates
#include "nn/training/train_step.h"      // one update of micro-batches
#include "nn/training/weight_average.h"  // WeightAverage: a running mean of the weights

// The commands of bpe, on files or the standard streams.
#pragma once

#include "apps/bpe/bpe_options.h"

namespace nine::app {

/// `bpe learn`: writes the codes learned from the inputs and, with --write-vocabulary, the inputs'
/// vocabularies. With --bytes: writes the tokenizer that it learned.
void learn_codes(const BpeFlags& o);
/// `bpe apply`: splits the words of each input into subwords. With --tokenizer: writes ids.
void apply_codes(const BpeFlags& o);
/// `bpe undo`: joins subwords to words again. With --tokenizer: writes the text of ids.
void undo_codes(const BpeFlags& o);
/// `bpe vocab`: counts the words of the inputs, together or, with several outputs, one by one.
void write_vocabulary(const BpeFlags& o);
/// `bpe convert`: writes the tokenizer as tokenizer.json or tiktoken's ranks.
void convert_tokenizer(const BpeFlags& o);

}  // namespace nine::app

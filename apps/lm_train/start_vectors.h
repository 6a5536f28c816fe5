// --vectors: word vectors of another program from which tables of a model start.
#pragma once

#include <string>
#include <vector>

#include "apps/lm_train/lm_data.h"
#include "core/json.h"
#include "nn/parameters.h"

namespace nine::app {

/// A value of --vectors.
struct VectorsOfTable {
  std::string table;  ///< embedding or head
  std::string file;
};

/// Returns a value of --vectors, [TABLE=]FILE: the table is the embedding if the value names none.
VectorsOfTable vectors_of_table(const std::string& value);

/// Throws a UsageError if two values are for one table, or if `tied` leaves the head without a
/// table of its own.
void check_vectors(const std::vector<std::string>& values, bool tied);

/// What --vectors did, for the screen and the log's first line.
struct StartVectors {
  std::string text;  ///< a line for each table, each with a line break before it
  Json event = Json::array();
};

/// Reads the files and copies the vector of each word into the rows of that word. A token of raw
/// text is found by its text, with or without the space before it. Errors: those of
/// read_word_vectors(); the vectors do not have the width of the table; no word has a vector; a
/// number is not finite in the type of the table.
StartVectors set_start_vectors(const std::vector<std::string>& values, const LmData& data,
                               ParameterSet& parameters);

}  // namespace nine::app

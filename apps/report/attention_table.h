// Attention weights as a table whose cells are the stronger the larger the weight.
#pragma once

#include <string>
#include <vector>

namespace nine::app {

/// A row for each of `rows` with a cell for each of `columns`; `thousandths` are the weights. The
/// caption is for readers who do not see the colours. Texts are escaped here.
std::string attention_table(const std::string& caption, const std::vector<std::string>& rows,
                            const std::vector<std::string>& columns,
                            const std::vector<std::vector<double>>& thousandths);

}  // namespace nine::app

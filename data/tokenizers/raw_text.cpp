#include "data/tokenizers/raw_text.h"

#include "core/error.h"
#include "core/files.h"
#include "core/threads.h"

namespace nine {
namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// Says of each line whether it is the last of its document. `ends_file`: the same for files.
std::vector<bool> last_lines(std::span<const std::string_view> lines,
                             const std::vector<bool>& ends_file, DocumentEnds ends) {
  std::vector<bool> last(lines.size());
  bool has_text = false, blank = false;  // in the document so far, and its last line
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool now = is_blank(lines[i]);
    // Blank lines at the beginning belong to the first document.
    if (i > 0 && has_text && blank && !now) last[i - 1] = true;
    has_text = has_text || !now;
    blank = now;
    if (ends_file[i] || ends == DocumentEnds::lines) last[i] = true;
  }
  return last;
}

// The lines of a text, and which of them end a file.
struct Lines {
  std::vector<std::string_view> lines;
  std::vector<bool> ends_file;
  explicit Lines(const RawText& text) {
    size_t begin = 0;
    for (const size_t end : text.files) {
      for_each_raw_line(std::string_view(text.bytes).substr(begin, end - begin),
                        [&](std::string_view line) {
                          lines.push_back(line);
                          ends_file.push_back(false);
                        });
      if (end > begin) ends_file.back() = true;
      begin = end;
    }
  }
};

}  // namespace

RawText RawText::read(const std::vector<std::string>& paths) {
  RawText text;
  TextRules rules = kRawText;
  rules.refuse_empty_file = false;  // the reader's error speaks of sentences
  for (const std::string& path : paths) {
    TextReader reader(std::vector<std::string>{path}, rules);
    const size_t before = text.bytes.size();
    for (std::string_view block; reader.next_block(block);) text.bytes += block;
    require(text.bytes.size() > before || is_device_or_pipe(path), path,
            " is empty: it must hold text");
    text.files.push_back(text.bytes.size());
  }
  return text;
}

DocumentEnds RawText::ends() const {
  const Lines all(*this);
  return std::ranges::any_of(all.lines, is_blank) ? DocumentEnds::blank_lines : DocumentEnds::lines;
}

std::vector<RawPart> RawText::documents(DocumentEnds ends) const {
  const Lines all(*this);
  const std::vector<bool> last = last_lines(all.lines, all.ends_file, ends);
  std::vector<RawPart> parts;
  const char* begin = bytes.data();
  for (size_t i = 0; i < all.lines.size(); ++i) {
    if (!last[i]) continue;
    const char* const end = all.lines[i].data() + all.lines[i].size();
    parts.push_back({{begin, static_cast<size_t>(end - begin)}});
    begin = end;
  }
  return parts;
}

std::vector<RawPart> lines_of_documents(std::span<const std::string> lines, DocumentEnds ends) {
  const std::vector<std::string_view> views(lines.begin(), lines.end());
  std::vector<bool> ends_file(lines.size());
  if (!lines.empty()) ends_file.back() = true;
  const std::vector<bool> last = last_lines(views, ends_file, ends);
  std::vector<RawPart> parts;
  for (size_t i = 0; i < lines.size(); ++i) parts.push_back({views[i], last[i]});
  return parts;
}

Corpus encode_parts(const ModelTokenizer& tokenizer, std::span<const RawPart> parts) {
  constexpr size_t kGroupBytes = size_t{1} << 20;
  std::vector<size_t> groups{0};  // the first part of each group
  for (size_t i = 0, bytes = 0; i < parts.size(); ++i) {
    bytes += parts[i].text.size();
    if (bytes < kGroupBytes && i + 1 < parts.size()) continue;
    groups.push_back(i + 1);
    bytes = 0;
  }
  struct Group {
    std::vector<int32_t> ids;
    std::vector<int64_t> ends;  // of its parts in `ids`
    int64_t words = 0;
  };
  std::vector<Group> encoded(groups.size() - 1);
  parallel_for(std::ssize(encoded), [&](int64_t g) {
    Group& own = encoded[static_cast<size_t>(g)];
    TokenCache cache;
    for (size_t i = groups[static_cast<size_t>(g)]; i < groups[static_cast<size_t>(g) + 1]; ++i) {
      const size_t before = own.ids.size();
      tokenizer.encode(parts[i].text, cache, own.ids);
      if (parts[i].ends || own.ids.size() == before)
        own.ids.push_back(Specials::kLanguageModel.end);
      own.ends.push_back(std::ssize(own.ids));
      for_each_raw_word(parts[i].text, [&](size_t, size_t) { ++own.words; });
    }
  });
  int64_t unknown = 0;
  std::vector<int32_t> ids;
  std::vector<int64_t> offsets{0};
  LineChecksum checksum;
  RawSize size;
  for (Group& group : encoded) {
    const auto begin = std::ssize(ids);
    ids.insert(ids.end(), group.ids.begin(), group.ids.end());
    for (const int64_t end : group.ends) offsets.push_back(begin + end);
    size.words += group.words;
    unknown += std::ranges::count(group.ids, tokenizer.unknown());
    group = {};
  }
  for (const RawPart& part : parts) {
    checksum.add_bytes(part.text);
    size.bytes += std::ssize(part.text);
  }
  return Corpus::of_ids(std::move(ids), std::move(offsets), checksum, size, unknown);
}

}  // namespace nine

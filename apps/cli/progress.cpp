#include "apps/cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "apps/cli/number_format.h"
#include "core/error.h"
#include "core/profile.h"

namespace nine::app {
namespace {

constexpr double kRateWindow = 15;  // seconds
constexpr const char* kEraseLine = "\r\033[K";

size_t terminal_width(std::FILE* out) {
  winsize size{};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

// Whether a byte is not the first one of a UTF-8 character.
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

size_t columns(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

// A line longer than the terminal would wrap, and the next redraw would leave its first half
// standing.
std::string cut(std::string text, size_t width) {
  if (columns(text) <= width) return text;
  size_t seen = 0, stop = 0;
  while (stop < text.size() && (continues(text[stop]) || seen < width))
    seen += !continues(text[stop++]);
  text.resize(stop);
  return text;
}

std::string bar(double share, size_t width) {
  const auto full = static_cast<size_t>(share * static_cast<double>(width));
  std::string out(width, ' ');
  std::fill_n(out.begin(), full, '=');
  if (full < width) out[full] = '>';
  return "[" + out + "]";
}

std::string percent(double share) {
  const std::string digits = std::to_string(static_cast<int>(share * 100));
  return std::string(3 - std::min<size_t>(3, digits.size()), ' ') + digits + "%";
}

}  // namespace

Progress::Progress(std::string title, std::string unit, ProgressSettings settings)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      settings_(std::move(settings)),
      live_(isatty(fileno(settings_.out)) == 1) {
  if (!settings_.clock) settings_.clock = profile::clock_seconds;
}

Progress::~Progress() {
  if (drawn_) std::fputc('\n', settings_.out);
}

void Progress::count(int64_t done, double time) {
  if (!started_ || done < done_) {  // the start, or another pass over the work
    first_ = from_ = next_ = {time, done};
    if (!started_) written_at_ = time;
    started_ = true;
  } else if (time - next_.time > kRateWindow) {
    from_ = next_;
    next_ = {time, done};
  }
  done_ = done;
  time_ = time;
}

double Progress::rate() const {
  const Anchor& from = finished_ ? first_ : from_;
  return time_ > from.time ? static_cast<double>(done_ - from.done) / (time_ - from.time) : 0;
}

double Progress::share() const {
  if (total_ <= 0) return 0;
  return std::clamp(static_cast<double>(done_) / static_cast<double>(total_), 0.0, 1.0);
}

void Progress::update(int64_t done, int64_t total, std::string_view text) {
  if (settings_.silent) return;
  const bool first = !started_;
  const double time = now();
  count(done, time);
  total_ = total;
  text_ = text;
  finished_ = false;
  const double pause = live_ ? settings_.seconds_between_draws : settings_.seconds_between_lines;
  if (!(live_ && first) && time - written_at_ < pause) return;
  written_at_ = time;
  if (live_) {
    draw();
  } else {
    std::fprintf(settings_.out, "%s\n", plain_line().c_str());
    std::fflush(settings_.out);
  }
}

std::string Progress::numbers() const {
  std::string out = short_count(static_cast<double>(done_));
  if (total_ > 0) out += "/" + short_count(static_cast<double>(total_));
  out += " " + unit_;
  if (rate() > 0) out += "  " + short_rate(rate()) + "/s";
  if (finished_) {
    out += "  in " + short_duration(time_ - first_.time);
  } else if (rate() > 0 && total_ > done_) {
    out += "  " + short_duration(static_cast<double>(total_ - done_) / rate()) + " left";
  }
  return text_.empty() ? out : out + "  " + text_;
}

std::string Progress::plain_line() const {
  return concat(title_, " ", total_ > 0 ? percent(share()) + "  " : "", numbers());
}

std::string Progress::bar_line() const {
  const size_t width = terminal_width(settings_.out) - 1;
  const std::string plain = plain_line();
  if (total_ <= 0 || columns(plain) + 13 > width) return cut(plain, width);
  const size_t bar_width = std::min<size_t>(30, width - columns(plain) - 3);
  return concat(title_, " ", percent(share()), " ", bar(share(), bar_width), " ", numbers());
}

void Progress::draw() {
  std::fprintf(settings_.out, "%s%s", kEraseLine, bar_line().c_str());
  std::fflush(settings_.out);
  drawn_ = true;
}

void Progress::erase() {
  if (drawn_) std::fputs(kEraseLine, settings_.out);
  drawn_ = false;
}

void Progress::message(std::string_view line) {
  if (settings_.silent) return;
  const bool redraw = drawn_;
  erase();
  std::fprintf(settings_.out, "%.*s\n", static_cast<int>(line.size()), line.data());
  if (redraw) draw();
  std::fflush(settings_.out);
}

void Progress::finish() {
  if (!started_ || finished_) return;
  finished_ = true;
  time_ = now();
  if (live_) {
    draw();
    std::fputc('\n', settings_.out);
    drawn_ = false;
  } else {
    std::fprintf(settings_.out, "%s\n", plain_line().c_str());
  }
  std::fflush(settings_.out);
}

}  // namespace nine::app

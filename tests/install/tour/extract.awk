# The fenced blocks of one language in a Markdown file, in order.
#   awk -f extract.awk -v want=cpp docs/tour.md
# want=cpp makes a program of them: #include lines first, then definitions (a block whose first line is `// before main`),
# then the rest as the body of main. want=text: the blocks themselves.
/^```/ {
  inside = !inside
  block = inside ? substr($0, 4) : ""
  first = inside
  next
}
!inside || block != want { next }
{
  if (first) above = ($0 == "// before main")
  first = 0
  if (want == "text") print
  else if ($0 ~ /^(#include|using namespace)/) includes = includes $0 "\n"
  else if (above) definitions = definitions where() $0 "\n"
  else body = body where() $0 "\n"
}
# Compiler messages name the line of the Markdown file.
function where() { return "#line " FNR " \"" FILENAME "\"\n" }
END {
  if (want == "cpp") printf "%s\n%s\nint main() {\n%s}\n", includes, definitions, body
}

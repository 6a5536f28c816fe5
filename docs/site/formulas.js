// Sets the formulas of a page, which Markdown left as \(...\) and \[...\].
document.addEventListener("DOMContentLoaded", () =>
  renderMathInElement(document.body, {
    delimiters: [
      {left: "\\[", right: "\\]", display: true},
      {left: "\\(", right: "\\)", display: false},
    ],
  }));

// Paper does not scroll: what is wider than a line of it even where lines break is printed smaller. 54rem are an A4 page's width in the
// size of type that report.css prints in.
addEventListener('beforeprint', () => {
  const most = 54 * parseFloat(getComputedStyle(document.documentElement).fontSize);
  for (const math of document.querySelectorAll('math')) {
    math.style.removeProperty('--fit');
    const wide = math.getBoundingClientRect().width;
    if (wide > most) math.style.setProperty('--fit', most / wide);
  }
});

// What tests look for on a page, inside the browser: an object of functions, each of which returns what is wrong, as words.
(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const beginning = (element) => element.outerHTML.slice(0, 80);
  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);

  function luminance(colour) {
    const [red, green, blue] = parts(colour).map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }
  function behind(element) {
    for (let outer = element; outer; outer = outer.parentElement) {
      const colour = getComputedStyle(outer).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  }

  return {
    // Text whose contrast to what is behind it is below 4.5 (WCAG 2, AA), in plots too.
    faint() {
      const texts = all("body *").filter((element) => !element.closest("script, title, noscript") && element.checkVisibility()
        && [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()));
      const ratios = texts.map((element) => {
        const style = getComputedStyle(element), ink = element.closest("svg") ? style.fill : style.color, ground = behind(element);
        const [low, high] = [ink, ground].map(luminance).sort((one, other) => one - other);
        return [(high + 0.05) / (low + 0.05), `${element.textContent.trim().slice(0, 40)}, ${ink} on ${ground}`];
      });
      if (!ratios.length) return ["no text"];
      return ratios.filter(([ratio]) => ratio < 4.5).map(([ratio, words]) => `${words}: ${ratio.toFixed(1)}`);
    },

    // Pictures without a role and a name, tables without heads that say what they head.
    speechless: () => [
      ...all("svg, canvas").filter((element) => !element.getAttribute("aria-label") || !element.getAttribute("role")),
      ...all("th").filter((head) => !head.scope),
      ...all("table").filter((table) => !table.querySelector("thead th[scope=col]")),
    ].map(beginning),

    // What makes the page wider than its window; tables may scroll in boxes of their own.
    wide: () => [
      ...all("body *").filter((element) => !element.closest("svg, .scroll, pre") && element.checkVisibility()
        && element.getBoundingClientRect().right > innerWidth + 0.5).map(beginning),
      ...(document.documentElement.scrollWidth > innerWidth ? ["the page scrolls"] : []),
      // a first column that stays, and takes all of the box, hides the others
      ...all(".scroll tbody th").filter((head) => head.getBoundingClientRect().width > 0.6 * innerWidth).map(beginning),
    ],

    // What ends beside the paper, or in a box that hides the rest.
    cut: () => all("table, pre, figure, svg, canvas, p, dl, ul").filter((element) => {
      if (element.parentElement.closest("svg") || !element.checkVisibility()) return false;
      const { left, right } = element.getBoundingClientRect();
      const isHidden = element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== "visible";
      return left < -1 || right > innerWidth + 1 || isHidden;
    }).map(beginning),

    // What is of no use on paper, and what cannot be unfolded there.
    notForPaper: () => [
      ...all("button, input, .tip, #usage").filter((element) => element.checkVisibility()),
      ...all("details > :not(summary)").filter((element) => !element.getClientRects().length),
    ].map(beginning),

    ground: () => getComputedStyle(document.body).backgroundColor,

    // How often the tabulator stops.
    stops: () => all("a[href], button, input, summary, [tabindex]").filter((element) => element.checkVisibility()).length,

    // Where the tabulator is, whether one sees that, and what it is.
    focus() {
      const element = document.activeElement, { outlineStyle, outlineWidth } = getComputedStyle(element);
      return [all("*").indexOf(element), outlineStyle !== "none" && parseFloat(outlineWidth) >= 1, beginning(element)];
    },
  };
})()

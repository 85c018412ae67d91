// The search takes a word that begins with - for one that must not be there, and --policy for nothing.
document.addEventListener(
  "keyup",
  ({ target }) => {
    if (target.matches(".md-search__input")) {
      const words = target.value.replace(/(^|\s)-+(?=\w)/g, "$1");
      if (words !== target.value) target.value = words;
    }
  },
  true, // before the search
);

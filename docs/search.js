// How the search ranks what it finds: part of Sphinx's language_data.js, which follows searchtools.js.
//
// Sphinx alone lists pages that have all words of a question, each with the score of its best word. Here a page's score
// counts all words, rare ones more, and a word that is missing only lowers it. Guides come before names of the API,
// unless the query is such a name.

const guideBonus = 8; // between a word in a text (5) and one in a title (15)
const glossary = 14; // before guides that only mention the word
const phraseBonus = 2; // before pages that have the same words in several titles; words of a page's own title add 1

let isName = false; // is the query a name with dots?

var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 0, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([docname, , , , score, , kind]) => {
    if (kind === "object") return isName ? 3 * Scorer.title : score;
    if (kind === "index") return glossary;
    const isGuide = /^(howto\/(?!index$)|tutorial$|theory\/validation$)/.test(docname);
    return score + (isGuide ? guideBonus : 0) + (kind === "title" ? phraseBonus : 0);
  },
};

// Return a Map from a page's number to the best score of a word there.
const scoresOfWord = (word, index) => {
  const scores = new Map();
  const add = (files, score) =>
    [files ?? []].flat().forEach((file) => scores.set(file, Math.max(score, scores.get(file) ?? 0)));
  for (const [terms, exact, partial] of [
    [index.terms, Scorer.term, Scorer.partialTerm],
    [index.titleterms, Scorer.title, Scorer.partialTitle],
  ]) {
    if (Object.hasOwn(terms, word)) add(terms[word], exact);
    else if (word.length > 2)
      Object.keys(terms)
        .filter((term) => term.startsWith(word) || term.includes(`_${word}`)) // allreduce finds mpi_allreduce
        .forEach((term) => add(terms[term], partial));
  }
  return scores;
};

// Return the pages that have at least half of the words, by weight.
const pagesOfWords = (searchTerms, excludedTerms) => {
  const index = Search._index;
  const found = [...searchTerms].map((word) => [word, scoresOfWord(word, index)]).filter(([, scores]) => scores.size);
  const weights = found.map(([, scores]) => Math.log(1 + index.docnames.length / scores.size));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const excluded = new Set([...excludedTerms].flatMap((word) => [...scoresOfWord(word, index).keys()]));
  const results = [];
  index.docnames.forEach((docname, file) => {
    let [score, present] = [0, 0];
    found.forEach(([word, scores], number) => {
      const share = weights[number] / total;
      score += share * (scores.get(file) ?? 0) + (index.titles[file].toLowerCase().includes(word) ? share : 0);
      present += scores.has(file) ? share : 0;
    });
    if (present >= 0.5 && !excluded.has(file))
      results.push([docname, index.titles[file], "", null, score, index.filenames[file], "text"]);
  });
  return results;
};

Search.performTermsSearch = pagesOfWords;

const isTerm = ([, , anchor, , , , kind]) => kind === "index" && anchor.startsWith("#term-");

// Return results, worst first, with each page once: by its title, and by headings that are shown. The glossary is
// listed by its terms, "Glossary: eager limit", and as a page only where no term is meant.
const withoutRepetition = (results) => {
  const { docnames, titles } = Search._index;
  const seen = new Set(results.filter(isTerm).map(([docname]) => docname));
  results.filter(isTerm).forEach((result) => {
    const term = result[2].slice("#term-".length).replaceAll("-", " ");
    if (!/^\d+$/.test(term)) result[1] += `: ${term}`; // a Greek letter's anchor is a number
  });
  const isNew = (result) => {
    const [docname, , anchor, , , , kind] = result;
    if (anchor || kind === "object" || kind === "index") return true;
    result[1] = titles[docnames.indexOf(docname)]; // not the phrase by which it was found
    return !seen.has(docname) && seen.add(docname);
  };
  return results.reverse().filter(isNew).reverse();
};

const performSearch = Search._performSearch;
Search._performSearch = (query, ...terms) => {
  isName = /^\w+(\.\w+)+$/.test(query.trim());
  return withoutRepetition(performSearch(query, ...terms));
};

// Ask the search of built documentation: node search_docs.js FOLDER < questions.json > results.json
const fs = require("node:fs");
const vm = require("node:vm");
const folder = process.argv[2];
const context = {
  _ready: () => {},
  _: (text) => text,
  SPHINX_HIGHLIGHT_ENABLED: false,
  document: { getElementById: () => null },
};
context.window = context;
vm.createContext(context);
const load = (name) => vm.runInContext(fs.readFileSync(`${folder}/${name}`, "utf-8"), context, { filename: name });
["_static/searchtools.js", "_static/language_data.js", "searchindex.js"].forEach(load);
context.questions = JSON.parse(fs.readFileSync(0, "utf-8"));
const results = vm.runInContext(
  `questions.map((question) => {
     const [query, terms, excluded, highlighted, objects] = Search._parseQuery(question);
     return Search._performSearch(query, terms, excluded, highlighted, objects).reverse();
   })`,
  context,
);
process.stdout.write(JSON.stringify(results));

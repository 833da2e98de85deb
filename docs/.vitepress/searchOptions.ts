/** How the search box of the site ranks: a word of a guide comes before the same word of the reference. */
export const searchOptions = {
  boostDocument: (page: string): number => (/\/(?:api|project)\//.test(page) ? 0.2 : 1),
};

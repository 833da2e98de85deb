import { describe, expect, it } from '@jest/globals';
import { casesOf, problemsOf, wrappers } from './stopTable.js';

describe('the end of a model that is made of models and operators', () => {
  it.each(Object.keys(wrappers))(
    '%s around any operator ends once, closes its model, and keeps its text',
    (wrapper) => {
      expect(casesOf(wrapper).flatMap(problemsOf)).toEqual([]);
    },
  );
});

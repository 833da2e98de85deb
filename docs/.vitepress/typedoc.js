// A plugin of typedoc: the modules have the names that users import, and what a doc comment says informally is in italics.
import { readFileSync } from 'node:fs';
import { URL } from 'node:url';

const root = new URL('../../', import.meta.url);
const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));

/** The name of an entry point, by its source file below lib/. */
const names = new Map(
  Object.entries(exports).flatMap(([name, target]) => {
    const built = /\/dist\/esm\/([^"]+)\.js/.exec(JSON.stringify(target))?.[1];
    return built ? [[built.replace(/\/?index$/, ''), name.replace('.', 'rivulet')]] : [];
  }),
);

const informal = /<span class="informal">([\s\S]*?)<\/span>/g;

export function load(app) {
  app.converter.on('resolveBegin', ({ project }) => {
    for (const module of project.children ?? []) {
      const file = module.name.replace(/^lib\/?/, '').replace(/\/?index$/, '');
      module.name = names.get(file) ?? module.name;
    }
    for (const { comment } of Object.values(project.reflections))
      for (const part of comment?.summary ?? []) part.text = part.text.replace(informal, '*$1*');
  });
}

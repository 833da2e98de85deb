import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { inlineCodeOf } from '../support/inlineCode.js';

// `retryTool(search, { count: 3 })` in a guide: the types of `retryTool` have the option `count`.

const entries = readdirSync('lib', { recursive: true, encoding: 'utf8' })
  .filter((name) => /(?:^|\/)index\.ts$/.test(name) || !name.includes('/'))
  .filter((name) => name.endsWith('.ts'))
  .map((name) => join('lib', name));
const { config } = ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path)) as { config: object };
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, '.');
const program = ts.createProgram(entries, { ...options, noEmit: true });
const checker = program.getTypeChecker();

/** The options of each exported function, and the fields of what it returns, over its overloads. */
const optionsOfFunction = new Map<string, Set<string>>();
const fieldsOfResult = new Map<string, readonly string[]>();
for (const entry of entries) {
  const source = program.getSourceFile(entry);
  const module = source && checker.getSymbolAtLocation(source);
  for (const symbol of module ? checker.getExportsOfModule(module) : []) {
    const names = optionsOfFunction.get(symbol.name) ?? new Set();
    for (const signature of source ? checker.getTypeOfSymbolAtLocation(symbol, source).getCallSignatures() : []) {
      fieldsOfResult.set(symbol.name, propertiesOf(signature.getReturnType()));
      for (const parameter of signature.parameters)
        for (const name of propertiesOf(checker.getTypeOfSymbol(parameter))) names.add(name);
    }
    if (names.size > 0) optionsOfFunction.set(symbol.name, names);
  }
}

function propertiesOf(type: ts.Type): readonly string[] {
  if (type.isUnion()) return type.types.flatMap(propertiesOf);
  const constraint = type.isTypeParameter() ? checker.getBaseConstraintOfType(type) : undefined;
  return (constraint ?? type).getProperties().map(({ name }) => name);
}

/** The names in the first column of a table, by the heading of that column. */
const firstColumn = (document: string, heading: string): readonly string[] =>
  readFileSync(document, 'utf8')
    .split(/\n(?!\|)/)
    .map((block) => block.trim())
    .filter((block) => block.startsWith(`| ${heading} |`))
    .flatMap((block) => block.split('\n').slice(2))
    .flatMap((row) => [...(/^\| (.*?) \|/.exec(row)?.[1] ?? '').matchAll(/`(\w+\$?)`/g)].map(([, name = '']) => name));

/** The options that calls within a piece of code pass: the name of the function, and of the option. */
function passedIn(code: string): readonly (readonly [name: string, option: string])[] {
  const passed: (readonly [string, string])[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression))
      for (const argument of node.arguments.filter(ts.isObjectLiteralExpression))
        for (const { name } of argument.properties)
          if (name && ts.isIdentifier(name) && name.text !== '') passed.push([node.expression.text, name.text]);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('code.ts', code, ts.ScriptTarget.Latest));
  return passed;
}

describe('the options in the guides', () => {
  const guides = readdirSync('docs').filter((name) => name.endsWith('.md') && !name.startsWith('migrate-'));
  const documents = ['README.md', ...guides.map((name) => join('docs', name))];
  const calls = documents.flatMap((document) =>
    inlineCodeOf(document).flatMap((code) =>
      passedIn(code).map(([name, option]) => ({ document, code, option, options: optionsOfFunction.get(name) })),
    ),
  );

  it('the guides pass options to functions of the library', () => {
    expect(calls.filter((call) => call.options).length).toBeGreaterThan(50);
  });

  it('each option that a guide passes to a function is in its types', () => {
    const unknown = calls.filter((call) => call.options && !call.options.has(call.option));
    expect(unknown.map(({ document, code, option }) => `${document}: ${option} of ${code}`)).toEqual([]);
  });

  it.each([
    ['docs/angular.md', 'option', 'injectConversation', optionsOfFunction],
    ['docs/angular.md', 'signal', 'injectConversation', fieldsOfResult],
  ])('the table of %s with the column %s has only names of %s', (document, heading, name, types) => {
    const names = firstColumn(document, heading);
    expect(names.length).toBeGreaterThan(4);
    expect(names.filter((each) => ![...(types.get(name) ?? [])].includes(each))).toEqual([]);
  });
});

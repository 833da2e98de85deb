import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/**
 * Reads the string literals of TypeScript types, from the declarations of the packages in a folder.
 *
 * @param folder The folder with `node_modules`.
 * @param types The types: `import('openai').OpenAI.ChatModel`.
 * @returns The literals of each type.
 * @throws Error for a type that does not exist, or that has no string literals.
 */
export function literalsOfTypes(folder: string, types: readonly string[]): readonly (readonly string[])[] {
  const fileName = join(folder, 'types.generated.ts');
  const text = types.map((type, at) => `export type T${at} = ${type};`).join('\n');
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const program = ts.createProgram([fileName], options, {
    ...host,
    fileExists: (path) => path === fileName || host.fileExists(path),
    readFile: (path) => (path === fileName ? text : host.readFile(path)),
    getSourceFile: (path, ...rest) =>
      path === fileName ? ts.createSourceFile(path, text, ts.ScriptTarget.ES2022) : host.getSourceFile(path, ...rest),
  });
  const file = program.getSourceFile(fileName);
  const checker = program.getTypeChecker();
  if (!file) throw new Error(`${fileName} was not compiled.`);
  const [problem] = program.getSemanticDiagnostics(file);
  if (problem) throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'));
  return file.statements.filter(ts.isTypeAliasDeclaration).map(({ name }, at) => {
    const type = checker.getTypeAtLocation(name);
    const literals = (type.isUnion() ? type.types : [type]).flatMap((one) =>
      one.isStringLiteral() ? [one.value] : [],
    );
    if (literals.length === 0) throw new Error(`The type ${types[at]} has no string literals.`);
    return literals;
  });
}

/** The strings and the names of properties in TypeScript files: comments do not count. */
export function namesInFiles(paths: readonly string[]): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node) => {
    if (ts.isStringLiteralLike(node)) names.add(node.text);
    else if (ts.isIdentifier(node) && isPropertyName(node)) names.add(node.text);
    ts.forEachChild(node, visit);
  };
  for (const path of paths.flatMap(typeScriptFiles))
    visit(ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ES2022, true));
  return names;
}

/** Whether an identifier names a property: of an object, or within a pattern that takes it from an object. */
function isPropertyName(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isBindingElement(parent)) return parent.propertyName === node || parent.propertyName === undefined;
  return (ts.isPropertyAssignment(parent) || ts.isShorthandPropertyAssignment(parent)) && parent.name === node;
}

function typeScriptFiles(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).flatMap((name) => typeScriptFiles(join(path, name)));
}

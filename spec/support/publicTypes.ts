import { resolve } from 'node:path';
import ts from 'typescript';

/** The public types of the library: what its entries export, and all types that can be reached from there. */
export class PublicTypes {
  /** The names of what is exported, of properties and parameters, and the words of string types. */
  readonly names = new Set<string>();
  private readonly properties = new Map<string, Set<string>>();
  private readonly options = new Map<string, Set<string>>();
  private readonly visited = new Set<ts.Type>();
  private readonly checker: ts.TypeChecker;

  constructor() {
    const { config } = ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path)) as { config: object };
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, '.');
    const entries = Object.values(options.paths ?? {}).flat();
    const program = ts.createProgram(entries, { ...options, noEmit: true });
    this.checker = program.getTypeChecker();
    for (const source of entries.map((entry) => program.getSourceFile(entry))) {
      const module = source && this.checker.getSymbolAtLocation(source);
      for (const symbol of module ? this.checker.getExportsOfModule(module) : []) this.addExport(symbol);
    }
  }

  /** The options that a function takes, over its overloads and entries; undefined for a function of others. */
  optionsOf(name: string): ReadonlySet<string> | undefined {
    return this.options.get(name);
  }

  /** The properties of exported types, and of what exported functions return. */
  propertiesOf(...names: readonly string[]): ReadonlySet<string> {
    return new Set(names.flatMap((name) => [...(this.properties.get(name) ?? [])]));
  }

  private addExport(symbol: ts.Symbol): void {
    const { checker } = this;
    const real = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    this.names.add(symbol.name);
    if (real.flags & ts.SymbolFlags.Type) {
      const type = checker.getDeclaredTypeOfSymbol(real);
      addTo(this.properties, symbol.name, namesOf(checker, type));
      this.visit(type);
    }
    if (!(real.flags & ts.SymbolFlags.Value)) return;
    const type = checker.getTypeOfSymbol(real);
    this.visit(type);
    for (const signature of type.getCallSignatures()) {
      addTo(this.properties, symbol.name, namesOf(checker, checker.getAwaitedType(signature.getReturnType())));
      const taken = signature.parameters.map((parameter) => checker.getTypeOfSymbol(parameter));
      const names = taken.flatMap((parameter) => namesOf(checker, parameter));
      if (names.length > 0) addTo(this.options, symbol.name, names);
    }
  }

  private visit(type: ts.Type): void {
    if (this.visited.has(type)) return;
    this.visited.add(type);
    const { checker, names } = this;
    if (type.isStringLiteral()) names.add(type.value);
    for (const part of partsOf(checker, type)) this.visit(part);
    if (type.isUnion()) return;
    for (const property of type.getProperties().filter(({ declarations }) => declarations?.some(isOurs))) {
      names.add(property.name);
      this.visit(checker.getTypeOfSymbol(property));
    }
    for (const signature of [...type.getCallSignatures(), ...type.getConstructSignatures()])
      if (signature.declaration && isOurs(signature.declaration)) {
        for (const parameter of signature.parameters) {
          names.add(parameter.name);
          this.visit(checker.getTypeOfSymbol(parameter));
        }
        this.visit(signature.getReturnType());
      }
  }
}

const lib = resolve('lib');
const isOurs = (node: ts.Node) => node.getSourceFile().fileName.startsWith(lib);

function addTo(map: Map<string, Set<string>>, key: string, names: readonly string[]): void {
  map.set(key, new Set([...(map.get(key) ?? []), ...names]));
}

/** The types of which a type is made: of a union or an intersection, and its type arguments. */
function partsOf(checker: ts.TypeChecker, type: ts.Type): readonly ts.Type[] {
  const constraint = type.isTypeParameter() ? checker.getBaseConstraintOfType(type) : undefined;
  const isReference =
    type.flags & ts.TypeFlags.Object && (type as ts.ObjectType).objectFlags & ts.ObjectFlags.Reference;
  return [
    ...(type.isUnionOrIntersection() ? type.types : []),
    ...(constraint ? [constraint] : []),
    ...(type.aliasTypeArguments ?? []),
    ...(isReference ? checker.getTypeArguments(type as ts.TypeReference) : []),
  ];
}

function namesOf(checker: ts.TypeChecker, type: ts.Type | undefined): readonly string[] {
  if (!type) return [];
  if (type.isUnion()) return type.types.flatMap((each) => namesOf(checker, each));
  const constraint = type.isTypeParameter() ? checker.getBaseConstraintOfType(type) : undefined;
  return (constraint ?? type).getProperties().map(({ name }) => name);
}

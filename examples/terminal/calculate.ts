import { parse } from 'mathjs/number';
import type { ConstantNode, FunctionNode, MathNode, OperatorNode, SymbolNode } from 'mathjs/number';
import { tool } from 'rivulet';
import * as z from 'zod';

/**
 * The longest expression, in characters: the parser is recursive, and a hundred thousand brackets overflow its stack.
 */
const maxLength = 500;

const operators = ['+', '-', '*', '/', '^', '%', '!'];
export const functions = [
  'sqrt',
  'cbrt',
  'abs',
  'round',
  'floor',
  'ceil',
  'min',
  'max',
  'exp',
  'log',
  'log10',
  'log2',
  'sin',
  'cos',
  'tan',
];
export const constants = ['pi', 'e'];

/**
 * Arithmetic by a library, restricted to a list of allowed nodes: its language can also define, assign and call its own
 * parser.
 */
export const calculate = tool({
  name: 'calculate',
  description:
    `Computes an arithmetic expression. Operators: ${operators.join(' ')}. ` +
    `Functions: ${functions.join(', ')}. Constants: ${constants.join(', ')}.`,
  parameters: z.object({ expression: z.string().max(maxLength).describe('For example: (16 - -3) * 1.8') }),
  execute: ({ expression }) => {
    const tree = parse(expression);
    tree.traverse(assertArithmetic);
    const value: unknown = tree.evaluate();
    if (typeof value === 'number' && Number.isFinite(value)) return Number(value.toPrecision(14)); // 0.1 + 0.2 is 0.3
    throw new Error(`"${expression}" is ${String(value)}, not a finite number.`);
  },
});

/**
 * mathjs's security page recommends disabling dangerous functions. A list of allowed ones also covers the functions of
 * later versions.
 */
function assertArithmetic(node: MathNode): void {
  if (
    node.type === 'ParenthesisNode' ||
    isNumber(node) ||
    isArithmetic(node) ||
    isFunctionCall(node) ||
    isKnownName(node)
  )
    return;
  throw new Error(
    `"${node.toString()}" is not arithmetic. ` +
      `Use numbers, ${operators.join(' ')}, ${[...functions, ...constants].join(', ')}.`,
  );
}

const isNumber = (node: MathNode) => node.type === 'ConstantNode' && typeof (node as ConstantNode).value === 'number';
const isArithmetic = (node: MathNode) => node.type === 'OperatorNode' && operators.includes((node as OperatorNode).op);
const isFunctionCall = (node: MathNode) =>
  node.type === 'FunctionNode' && functions.includes((node as FunctionNode).fn.name);
const isKnownName = (node: MathNode) =>
  node.type === 'SymbolNode' && [...functions, ...constants].includes((node as SymbolNode).name);

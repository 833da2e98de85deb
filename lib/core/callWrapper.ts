import { isRecord } from './json/json.js';
import type { Model } from './model.js';
import type { Tool } from './tool.js';

type WrapperOf<Subject, Options extends readonly unknown[]> = (...options: Options) => (subject: Subject) => Subject;

/** The overloads check the types of the arguments; the first argument decides which form a call has. */
const callWrapper =
  <Subject>(isSubject: (value: unknown) => value is Subject) =>
  <Options extends readonly unknown[]>(args: readonly unknown[], wrapperOf: WrapperOf<Subject, Options>) => {
    const [first, ...rest] = args;
    return isSubject(first) ? wrapperOf(...(rest as unknown as Options))(first) : wrapperOf(...(args as Options));
  };

/** Either `retryTool(tool, options)`, or `retryTool(options)` for rxjs's `pipe`. */
export const callToolWrapper = /* @__PURE__ */ callWrapper(
  (value): value is Tool => isRecord(value) && typeof value['name'] === 'string',
);

export const callModelWrapper = /* @__PURE__ */ callWrapper(
  (value): value is Model => isRecord(value) && typeof value['stream'] === 'function',
);

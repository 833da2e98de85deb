/**
 * The member of a union with a type, or the members with one of several types.
 *
 * ```ts
 * const show = (result: OfType<RunEvent, 'toolResult'>) => console.log(result.name, result.result);
 * ```
 */
export type OfType<Union extends { readonly type: string }, Type extends Union['type']> = Extract<
  Union,
  { readonly type: Type }
>;

/**
 * The options of a function: its last parameter.
 *
 * ```ts
 * const patient: OptionsOf<typeof retryModel> = { count: 5 };
 * ```
 */
export type OptionsOf<Function extends (...args: never) => unknown> = NonNullable<Last<Parameters<Function>>>;

type Last<Items extends readonly unknown[]> =
  Required<Items> extends readonly [...unknown[], infer Item] ? Item : never;

/** Without its name: in declarations of a user's code, a name that the package does not export is an error (TS2883). */
export type Plain<Union> = Union extends unknown ? { [Key in keyof Union]: Union[Key] } : never;

export interface Client<C> {
  readonly context: C;
  readonly owner: string;
}

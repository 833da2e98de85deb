/** Who asks: the user's own value for tools, and the owner of the runs that the client may use. */
export interface Client<C> {
  readonly context: C;
  readonly owner: string;
}

/** With the place of its request among the others. Default: it arrives now. */
export type PlacedClient<C> = Client<C> & { readonly place?: number | undefined };

import type { operations } from "./api-types.ts";

type Json<Response> = Response extends { content: { "application/json": infer Body } }
  ? Body
  : never;
type Success<Responses> = {
  [Status in keyof Responses]: Status extends 200 | 201 | 202 ? Json<Responses[Status]> : never;
}[keyof Responses];

/** What an operation of the API answers when it succeeds; `Answer<"readLead">`. */
export type Answer<Id extends keyof operations> = Success<operations[Id]["responses"]>;

/** One row of what a list operation answers. */
export type Row<Id extends keyof operations> =
  Answer<Id> extends { data: (infer Item)[] } ? Item : never;

/** The JSON body that an operation takes; `Sent<"createLead">`. */
export type Sent<Id extends keyof operations> = operations[Id] extends {
  requestBody?: infer Body;
}
  ? NonNullable<Body> extends { content: { "application/json": infer Content } }
    ? Content
    : never
  : never;

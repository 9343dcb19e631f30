import { NotSent } from "../api/described-write.ts";
import { ApiProblem } from "../api/problem.ts";

/** An error that belongs to no field, with the request to name in a report. */
export function FormError({ error }: { readonly error: Error | null }) {
  if (!error || error instanceof NotSent) return null;
  const request_id = error instanceof ApiProblem && error.status >= 500 ? error.request_id : null;
  return (
    <p role="alert" className="text-danger">
      {error.message}
      {request_id && <span className="block text-xs">Request {request_id}</span>}
    </p>
  );
}

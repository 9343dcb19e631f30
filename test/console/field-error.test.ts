import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldError } from "../../console/messages/field-error.ts";

test("an error of the API becomes a sentence about its field", () => {
  assert.equal(
    fieldError("Email", "must be a valid email address"),
    "Email must be a valid email address.",
  );
  assert.equal(fieldError("Weight", "must be an integer"), "Weight must be a whole number.");
});

test("a sentence of the console stays as it is", () => {
  assert.equal(fieldError("Name", "Give the campaign a name."), "Give the campaign a name.");
});

test("fields that only the API has are not named", () => {
  const audio = "is required, unless there is a script, menu_id or ai_agent_id; or upload a file";
  assert.doesNotMatch(fieldError("Text", audio), /menu_id/);
  assert.match(
    fieldError(
      "Column with the numbers",
      "is required because the file has no column phone_number",
    ),
    /^Column with the numbers is required: the file has no column “phone_number”\.$/,
  );
});

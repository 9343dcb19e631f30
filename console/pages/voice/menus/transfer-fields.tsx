import { useQuery } from "@tanstack/react-query";
import { agentGroupsQuery } from "../../../api/agents.ts";
import { useMay } from "../../../ui/permission.ts";
import { withChosen } from "../../../ui/option.ts";
import { SelectField } from "../../../ui/select-field.tsx";
import { TextField } from "../../../ui/text-field.tsx";
import type { DraftNode } from "./menu-draft.ts";

type Target = NonNullable<DraftNode["to"]>;

/** Who takes the call: a group of agents, or an extension. */
export function TransferFields({
  name,
  to,
  errorOf,
  onChange,
}: {
  readonly name: string;
  readonly to: Target | null | undefined;
  /** The error of the target, which has this name, or of a field of it. */
  readonly errorOf: (field: string) => string | undefined;
  readonly onChange: (to: Target | null) => void;
}) {
  const may_read = useMay("agents.read");
  const may_manage = useMay("agents.manage");
  const { data: groups = [] } = useQuery({ ...agentGroupsQuery, enabled: may_read || may_manage });
  const group_id = to?.agent_group_id ?? null;
  const part = group_id === null ? "extension" : "agent_group_id";
  const given_error = errorOf(name) ?? errorOf(`${name}.${part}`);
  // The API's error would name its own fields.
  const error = given_error && !to ? "Choose a group, or enter an extension." : given_error;
  const options = groups.map((group) => ({ value: group.id, label: group.name }));
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <SelectField
        label="Group of agents"
        name="agent_group_id"
        placeholder="None: an extension"
        options={withChosen(options, group_id, "Group")}
        value={group_id ?? ""}
        error={group_id === null ? undefined : error}
        onChange={({ target: { value } }) =>
          onChange(value === "" ? null : { agent_group_id: Number(value) })
        }
      />
      {group_id === null && (
        <TextField
          label="Extension"
          name="extension"
          inputMode="numeric"
          value={to?.extension ?? ""}
          error={error}
          onValueChange={(extension) => onChange(extension === "" ? null : { extension })}
        />
      )}
    </div>
  );
}

import { api, type ServerOption, type SettingChange, type SettingPreview, toPath } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { texts } from '../../texts.ts'
import { SelectField, TextField, useSubmit } from '../../ui/field.tsx'
import { Button } from '../../ui/parts.tsx'
import { Overridden, useSharedValue } from '../../ui/shared-value.tsx'
import { notify } from '../../ui/toast.tsx'
import { useDebounced } from '../../ui/use-debounced.ts'

/** Checked by the server as you type; it also says what the change does. */
export function ChangeOption({ option, onChange }: Readonly<{ option: ServerOption; onChange: () => void }>) {
  const current = option.isSecret ? '' : option.value
  const { value, setValue, base, isChanged, isOverridden, keep, replace } = useSharedValue(current)
  const preview = usePreview(option, useDebounced(value), isChanged)
  // after a refusal too: another value may be the reason
  const set = useSubmit(() => setOption(option, { value, base }, onChange).finally(onChange))
  const unset = useSubmit(() => unsetOption(option, onChange).then(onChange))
  const problem = preview?.problems.join(' ') || set.problem || unset.problem
  return (
    <form class="stack" onSubmit={set.submit}>
      <ValueField option={option} value={value} problem={isOverridden ? '' : problem} onValue={setValue} />
      {isOverridden && (
        <Overridden by={option.changedBy} current={current} own={value} onKeep={keep} onReplace={replace} />
      )}
      {isChanged && preview && preview.problems.length === 0 && <Effects effects={preview.effects} />}
      <div class="row">
        <Button
          type="submit"
          kind="primary"
          isBusy={set.isBusy}
          disabled={!isChanged || isOverridden || (preview?.problems.length ?? 1) > 0}
        >
          {texts.settings.set(option.name)}
        </Button>
        {option.source.kind === 'run time' && (
          <Button isBusy={unset.isBusy} onClick={() => unset.submit()}>
            {texts.settings.unset}
          </Button>
        )}
      </div>
    </form>
  )
}

function usePreview(option: ServerOption, value: string, isChanged: boolean): SettingPreview | undefined {
  const path = `${toPath('settings', option.section, option.key)}/preview`
  const { data } = useResource(`preview ${option.name} ${value}`, async (signal) =>
    isChanged ? api.post<SettingPreview>(path, { value }, signal) : undefined,
  )
  return data
}

interface Change {
  readonly value: string
  /** The value that was shown before. */
  readonly base: string
}

async function setOption(option: ServerOption, { value, base }: Change, onChange: () => void): Promise<void> {
  const path = toPath('settings', option.section, option.key)
  const { needsRestart } = await api.put<SettingChange>(path, { value, ...(!option.isSecret && { expected: base }) })
  const text = needsRestart ? texts.settings.savedForRestart(option.name) : texts.settings.saved(option.name)
  notify(text, toUndo(option, onChange))
}

async function unsetOption(option: ServerOption, onChange: () => void): Promise<void> {
  await api.delete(toPath('settings', option.section, option.key))
  notify(texts.settings.removed(option.name), toUndo(option, onChange))
}

/** Restores what was configured before. A secret cannot be restored: the console never had it. */
function toUndo(option: ServerOption, onChange: () => void): (() => Promise<void>) | undefined {
  const { section, key, value, source, isSecret } = option
  if (isSecret) return undefined
  const path = toPath('settings', section, key)
  return async () => {
    await (source.kind === 'run time' ? api.put(path, { value }) : api.delete(path))
    notify(texts.settings.undone(option.name))
    onChange()
  }
}

interface ValueFieldProps {
  readonly option: ServerOption
  readonly value: string
  readonly problem: string | undefined
  readonly onValue: (value: string) => void
}

function ValueField({ option, value, problem, onValue }: ValueFieldProps) {
  const hint = option.type === 'boolean' ? undefined : option.expects
  const common = { label: texts.settings.newValue, hint, problem: problem || undefined, value, onValue }
  const choices = option.type === 'boolean' ? ['true', 'false'] : option.choices
  if (choices)
    return <SelectField {...common} options={choices.map((choice) => [choice, choice || texts.settings.empty])} />
  return (
    <TextField {...common} type={option.isSecret ? 'password' : 'text'} isMono autoComplete="off" spellcheck={false} />
  )
}

const Effects = ({ effects }: { readonly effects: readonly string[] }) => (
  <ul class="notice" aria-live="polite">
    {effects.map((effect) => (
      <li key={effect}>{effect}</li>
    ))}
  </ul>
)

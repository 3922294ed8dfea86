import {
  api,
  type ServerOptionView,
  type SettingChangeView,
  type SettingPreviewView,
  toPath,
} from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { shared } from '../../texts.ts'
import { SelectField, TextField, useSubmit } from '../../ui/field.tsx'
import { Button } from '../../ui/parts.tsx'
import { Overridden, useSharedValue } from '../../ui/shared-value.tsx'
import { notify } from '../../ui/toast.tsx'
import { useDebounced } from '../../ui/use-debounced.ts'
import { texts } from './texts.ts'

/** Checked by the server as you type; it also says what the change does. */
export function ChangeOption({ option, onChange }: Readonly<{ option: ServerOptionView; onChange: () => void }>) {
  const current = option.isSecret ? '' : option.value
  const { value, setValue, base, isChanged, isOverridden, keep, replace, setSaved } = useSharedValue(current)
  const preview = usePreview(option, useDebounced(value), isChanged)
  // after a refusal too: another value may be the reason
  const set = useSubmit(async () => {
    await setOption(option, { value, base }, onChange).finally(onChange)
    // a secret is never loaded: its field is empty for the next change
    if (!option.isSecret) setSaved()
  })
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
          {texts.set(option.name)}
        </Button>
        {option.source.kind === 'run time' && (
          <Button isBusy={unset.isBusy} onClick={() => unset.submit()}>
            {texts.unset}
          </Button>
        )}
      </div>
    </form>
  )
}

function usePreview(option: ServerOptionView, value: string, isChanged: boolean): SettingPreviewView | undefined {
  const path = `${toPath('settings', option.section, option.key)}/preview`
  const { data } = useResource(`preview ${option.name} ${value}`, async (signal) =>
    isChanged ? api.post<SettingPreviewView>(path, { value }, signal) : undefined,
  )
  return data
}

interface Change {
  readonly value: string
  /** The value that was shown before. */
  readonly base: string
}

async function setOption(option: ServerOptionView, { value, base }: Change, onChange: () => void): Promise<void> {
  const path = toPath('settings', option.section, option.key)
  const { needsRestart } = await api.put<SettingChangeView>(path, {
    value,
    ...(!option.isSecret && { expected: base }),
  })
  const text = needsRestart ? texts.savedForRestart(option.name) : texts.saved(option.name)
  notify(text, toUndo(option, onChange))
}

async function unsetOption(option: ServerOptionView, onChange: () => void): Promise<void> {
  await api.delete(toPath('settings', option.section, option.key))
  notify(texts.removed(option.name), toUndo(option, onChange))
}

/** Restores what was configured before. A secret cannot be restored: the console never had it. */
function toUndo(option: ServerOptionView, onChange: () => void): (() => Promise<void>) | undefined {
  const { section, key, value, source, isSecret } = option
  if (isSecret) return undefined
  const path = toPath('settings', section, key)
  return async () => {
    await (source.kind === 'run time' ? api.put(path, { value }) : api.delete(path))
    notify(texts.undone(option.name))
    onChange()
  }
}

interface ValueFieldProps {
  readonly option: ServerOptionView
  readonly value: string
  readonly problem: string | undefined
  readonly onValue: (value: string) => void
}

function ValueField({ option, value, problem, onValue }: ValueFieldProps) {
  const hint = option.type === 'boolean' ? undefined : option.expects
  const common = { label: texts.newValue, hint, problem: problem || undefined, value, onValue }
  const choices = option.type === 'boolean' ? ['true', 'false'] : option.choices
  if (choices)
    return <SelectField {...common} options={choices.map((choice) => [choice, choice || shared.sharedValue.empty])} />
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

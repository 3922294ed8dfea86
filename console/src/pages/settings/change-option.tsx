import { useState } from 'preact/hooks'
import { api, toPath } from '../../api/client.ts'
import type { ServerOption, SettingChange, SettingPreview } from '../../api/types.ts'
import { useResource } from '../../api/use-resource.ts'
import { texts } from '../../texts.ts'
import { Button } from '../../ui/button.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { notify, notifyProblem } from '../../ui/toast.tsx'
import { useDebounced } from '../../ui/use-debounced.ts'

interface ChangeOptionProps {
  readonly option: ServerOption
  readonly onChange: () => void
}

/** Checked by the server as you type; it also says what the change does. */
export function ChangeOption({ option, onChange }: ChangeOptionProps) {
  const current = option.isSecret ? '' : option.value
  const [value, setValue] = useState(current)
  const [isBusy, setBusy] = useState(false)
  const isChanged = value !== current
  const preview = usePreview(option, useDebounced(value), isChanged)
  const apply = async (change: () => Promise<unknown>) => {
    setBusy(true)
    await change().then(onChange, notifyProblem)
    setBusy(false)
  }
  const submit = (event: Event) => {
    event.preventDefault()
    void apply(() => setOption(option, value, onChange))
  }
  return (
    <form class="stack" onSubmit={submit}>
      <ValueField option={option} value={value} problem={preview?.problems.join(' ')} onValue={setValue} />
      {isChanged && preview && preview.problems.length === 0 && <Effects effects={preview.effects} />}
      <div class="row">
        <Button
          type="submit"
          kind="primary"
          isBusy={isBusy}
          disabled={!isChanged || (preview?.problems.length ?? 1) > 0}
        >
          {texts.settings.set(option.name)}
        </Button>
        {option.source.kind === 'run time' && (
          <Button isBusy={isBusy} onClick={() => apply(() => unsetOption(option, onChange))}>
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

async function setOption(option: ServerOption, value: string, onChange: () => void): Promise<void> {
  const path = toPath('settings', option.section, option.key)
  const { needsRestart } = await api.put<SettingChange>(path, { value })
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

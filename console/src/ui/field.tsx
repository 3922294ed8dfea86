import type { ComponentChildren, InputHTMLAttributes } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { toMessage } from '../api/client.ts'
import { shared } from '../texts.ts'
import { Button } from './parts.tsx'

/** What is wrong with a whole form. */
export const Problem = ({ text }: { readonly text: string }) =>
  text ? (
    <p class="notice danger" role="alert">
      {text}
    </p>
  ) : null

interface FieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  /** What is wrong with the value. */
  readonly problem?: string | undefined
}

interface ControlProps {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': boolean | undefined
}

interface FieldFrameProps extends FieldProps {
  readonly children: (control: ControlProps) => ComponentChildren
}

/** Label, control, hint and problem, connected for screen readers. */
export function Field({ label, hint, problem, children }: FieldFrameProps) {
  const id = useId()
  const described = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': problem ? true : undefined })}
      {hint && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {problem && (
        <span class="problem" id={`${id}-problem`} role="alert">
          {problem}
        </span>
      )}
    </div>
  )
}

interface InputProps {
  readonly type?: 'text' | 'email' | 'password' | 'search' | 'date'
  readonly name?: string
  readonly placeholder?: string
  readonly autoComplete?: string
  readonly list?: string
  readonly autoCapitalize?: 'none'
  readonly autoFocus?: boolean
  readonly required?: boolean
  readonly spellcheck?: boolean
}

type TextFieldProps = FieldProps &
  InputProps & {
    readonly value: string
    readonly onValue: (value: string) => void
    readonly isMono?: boolean
  }

/** A password can be shown while it is typed. */
export function TextField({ label, hint, problem, value, onValue, isMono, ...input }: TextFieldProps) {
  const element = useRef<HTMLInputElement>(null)
  const [isShown, setShown] = useState(false)
  // browsers obey autofocus only for the first field of a page
  useLayoutEffect(() => {
    if (input.autoFocus) element.current?.focus()
  }, [])
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(control) => {
        const box = (
          <input
            ref={element}
            {...({ ...input, ...(isShown && { type: 'text' }) } as InputHTMLAttributes<HTMLInputElement>)}
            {...control}
            class={`input ${isMono ? 'mono' : ''}`}
            value={value}
            onInput={(event) => onValue(event.currentTarget.value)}
          />
        )
        if (input.type !== 'password') return box
        return (
          <div class="input-row">
            {box}
            <ShowButton isShown={isShown} onChange={setShown} />
          </div>
        )
      }}
    </Field>
  )
}

interface ShowButtonProps {
  readonly isShown: boolean
  readonly onChange: (isShown: boolean) => void
}

export const ShowButton = ({ isShown, onChange }: ShowButtonProps) => (
  <Button onClick={() => onChange(!isShown)}>{isShown ? shared.password.hide : shared.password.show}</Button>
)

export type OptionRows = readonly (readonly [value: string, label: string])[]

export const Options = ({ of }: { readonly of: OptionRows }) => (
  <>
    {of.map(([value, label]) => (
      <option key={value} value={value}>
        {label}
      </option>
    ))}
  </>
)

interface SelectFieldProps extends FieldProps {
  readonly value: string
  readonly options: OptionRows
  readonly onValue: (value: string) => void
}

export const SelectField = ({ label, hint, problem, value, options, onValue }: SelectFieldProps) => (
  <Field label={label} hint={hint} problem={problem}>
    {(control) => (
      <select {...control} class="input" value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        <Options of={options} />
      </select>
    )}
  </Field>
)

interface CheckFieldProps {
  readonly label: string
  readonly isChecked: boolean
  readonly onChange: (isChecked: boolean) => void
}

export const CheckField = ({ label, isChecked, onChange }: CheckFieldProps) => (
  <label class="check">
    <input type="checkbox" checked={isChecked} onChange={(event) => onChange(event.currentTarget.checked)} />
    <span>{label}</span>
  </label>
)

/** Runs the change of a form. If it fails, what was typed stays and `problem` says why. */
export function useSubmit(run: () => Promise<unknown>) {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  const submit = async (event?: Event) => {
    event?.preventDefault()
    setBusy(true)
    setProblem('')
    await run().catch((error: unknown) => setProblem(toMessage(error)))
    setBusy(false)
  }
  return { submit, isBusy, problem }
}

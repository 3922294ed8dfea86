import { texts } from '../texts.ts'
import { TextField } from './field.tsx'

interface NameFieldProps {
  readonly hint?: string
  readonly value: string
  readonly onValue: (value: string) => void
}

/** The name of something new. Browsers do not change what is typed. */
export const NameField = (props: NameFieldProps) => (
  <TextField
    {...props}
    label={texts.users.name}
    isMono
    autoFocus
    autoComplete="off"
    autoCapitalize="none"
    spellcheck={false}
  />
)

import { useState } from 'preact/hooks'
import { texts } from '../texts.ts'
import { Button } from './parts.tsx'

export function CopyButton({ text }: { readonly text: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  return <Button onClick={copy}>{isCopied ? texts.actions.copied : texts.actions.copy}</Button>
}

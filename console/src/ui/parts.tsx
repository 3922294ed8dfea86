// Small pieces that pages are made of.
import type { ButtonHTMLAttributes, ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { toExact, toExactClock, toRelative } from '../times.ts'

export type Tone = 'danger' | 'warning' | 'success' | 'accent'

interface BadgeProps {
  readonly tone?: Tone | undefined
  readonly children: ComponentChildren
}

export const Badge = ({ tone, children }: BadgeProps) => <span class={`badge ${tone ?? ''}`}>{children}</span>

export const Chips = ({ items }: { readonly items: readonly string[] }) => (
  <span class="chips">
    {items.map((item) => (
      <span key={item} class="badge mono" title={item}>
        {item}
      </span>
    ))}
  </span>
)

/** The address of a client. A part of it would be another address, so it is never broken. */
export const Address = ({ of }: { readonly of: string }) => <span class="mono address">{of}</span>

interface SectionProps {
  readonly title: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** A titled part of a side panel. */
export const Section = ({ title, actions, children }: SectionProps) => (
  <section class="section" aria-label={title}>
    <header>
      <h3>{title}</h3>
      {actions && <div class="row">{actions}</div>}
    </header>
    {children}
  </section>
)

/** A titled part of a page. */
export const Card = ({ title, actions, children }: SectionProps) => (
  <section class="card" aria-label={title}>
    <header>
      <h2>{title}</h2>
      {actions && <div class="row">{actions}</div>}
    </header>
    {children}
  </section>
)

interface HeadingProps {
  /** What the page is for. Its name is in the bar on top. */
  readonly text?: string | undefined
  readonly children?: ComponentChildren
}

export const Heading = ({ text, children }: HeadingProps) => (
  <div class="heading wide">
    <p>{text}</p>
    {children && <div class="row">{children}</div>}
  </div>
)

export type Fact = readonly [label: string, value: ComponentChildren]

export const Facts = ({ facts }: { readonly facts: readonly Fact[] }) => (
  <dl class="facts">
    {facts.map(([label, value]) => (
      <>
        <dt>{label}</dt>
        <dd>{value}</dd>
      </>
    ))}
  </dl>
)

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: 'primary' | 'danger' | 'quiet' | 'icon'
  readonly isBusy?: boolean
  readonly children: ComponentChildren
}

export function Button({ kind, isBusy = false, type = 'button', disabled, children, ...rest }: ButtonProps) {
  return (
    <button {...rest} type={type} class={`button ${kind ?? ''}`} disabled={disabled || isBusy} aria-busy={isBusy}>
      {children}
    </button>
  )
}

interface ButtonLinkProps {
  readonly href: string
  readonly kind?: 'primary' | 'danger' | 'quiet'
  readonly children: ComponentChildren
}

/** Looks like a button and leads to another state of the page. */
export const ButtonLink = ({ href, kind, children }: ButtonLinkProps) => (
  <a class={`button ${kind ?? ''}`} href={href}>
    {children}
  </a>
)

const nowSeconds = () => Date.now() / 1000

/** To the second. For lists that are compared with other logs. */
export function ExactTime({ at }: { readonly at: number }) {
  const date = new Date(at * 1000)
  return (
    <time class="exact" dateTime={date.toISOString()} title={toRelative(at, nowSeconds())}>
      {toExactClock(date)}
    </time>
  )
}

/** Relative, with the exact time on hover. Accepts seconds since the epoch or ISO 8601. */
export function Time({ at }: { readonly at: number | string }) {
  const [now, setNow] = useState(nowSeconds)
  useEffect(() => {
    const timer = setInterval(() => setNow(nowSeconds()), 30_000)
    return () => clearInterval(timer)
  }, [])
  const date = new Date(typeof at === 'number' ? at * 1000 : at)
  return (
    <time dateTime={date.toISOString()} title={toExact(date)}>
      {toRelative(date.getTime() / 1000, now)}
    </time>
  )
}

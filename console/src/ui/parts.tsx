// Small pieces that pages are made of.
import type { ComponentChildren } from 'preact'

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

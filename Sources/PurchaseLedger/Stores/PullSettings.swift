/// How much a pull reads twice, and how often it asks again. Times are milliseconds.
///
/// None of it is an option: a test takes out one after the other and expects that a year then loses something.
package struct PullSettings: Sendable {
  /// Entries appear up to a few minutes late, and clocks are corrected: what was read last is read once more.
  package var overlap: Int64 = 86_400_000
  /// A start is never nearer to what the store keeps: a request takes its time, and so do many pages.
  package var startMargin: Int64 = 600_000
  /// An end is never ahead of the store's clock, also where that is not known yet.
  package var endMargin: Int64 = 60_000
  /// A question is given up after this many failures, of nightly pulls after two weeks.
  package var attemptsMax = 14
  /// The same where the store itself says that it does not know the subject. It may say so of what is too new.
  package var unknownMax = 8

  package init() {}
}

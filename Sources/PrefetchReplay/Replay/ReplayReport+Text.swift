extension ReplayReport {
  /// A table for people: a line a session, the means, and below the means of other policies on the same sessions.
  public func text(policy: String, others: [(name: String, report: ReplayReport)]) -> String {
    var rows = [["session", "requests", "hits", "blank", "hard", "stall ms", "precision", "loads"]]
    for line in sessions { rows.append(line.score.cells(line.session, dividedBy: 1)) }
    if sessions.count > 1 { rows.append(total.cells("mean", dividedBy: Double(sessions.count))) }
    if !others.isEmpty {
      rows.append([])
      rows.append(total.cells("\(policy), a session", dividedBy: Double(max(sessions.count, 1))))
      for other in others {
        rows.append(other.report.total.cells(other.name, dividedBy: Double(max(other.report.sessions.count, 1))))
      }
    }
    let absent = total.absent
    guard absent > 0 else { return TextTable.text(rows) }
    let note = "\(absent) tiles that came onto the screen are not in the bundle; they are no requests and never blank"
    return TextTable.text(rows) + "\n\n" + note
  }
}

extension ReplayScore {
  fileprivate func cells(_ name: String, dividedBy count: Double) -> [String] {
    func mean(_ value: Double) -> String { "\(Int((value / count).rounded()))" }
    return [
      name, mean(Double(requests)), TextTable.percent(hitRate), mean(Double(blankTileFrames)), mean(Double(hardBlanks)),
      mean(stallMilliseconds), precision.map(TextTable.percent) ?? "-", mean(Double(loads)),
    ]
  }
}

/// How much of their limits the process's control groups use.
///
/// Pages of files count towards a group, but the kernel takes them back before it ends anybody: a server that reads large bundles fills any limit with them.
/// So they are left out; where they are missed, the waiting for memory (``StallTimes``) says so.
package struct ControlGroupMemory: PressureReadings {
  private let text: SystemText

  package init(_ text: SystemText = .files) { self.text = text }

  package func readings() -> [PressureReading] {
    ControlGroup.all(text).compactMap { group in
      guard let limit = limit(group), limit > 0, let used = used(group) else { return nil }
      return PressureReading(.controlGroup(group.folder), used: Double(used) / Double(limit))
    }
  }

  /// Bytes; nil where there is no limit.
  private func limit(_ group: ControlGroup) -> Int? {
    switch group.version {
    case .one:
      // "No limit" is the largest number of whole pages.
      guard let limit = text.read("\(group.folder)/memory.limit_in_bytes")?.wholeNumber, limit < 1 << 60 else {
        return nil
      }
      return limit
    case .two:
      // Above `high` the group is slowed down until it can hardly work, above `max` processes are ended.
      return ["memory.max", "memory.high"].compactMap { text.read("\(group.folder)/\($0)")?.wholeNumber }.min()
    }
  }

  private func used(_ group: ControlGroup) -> Int? {
    let name = group.version == .one ? "memory.usage_in_bytes" : "memory.current"
    guard let all = text.read("\(group.folder)/\(name)")?.wholeNumber else { return nil }
    let statistics = text.read("\(group.folder)/memory.stat") ?? ""
    // Version 1 counts what lies below the group under other names.
    let prefix = group.version == .one ? "total_" : ""
    let files = ["inactive_file", "active_file"].compactMap { statistics.number(after: prefix + $0) }.reduce(0, +)
    return max(all - max(files, 0), 0)
  }
}

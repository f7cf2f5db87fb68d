/// A control group of this process that counts memory: its own or an ancestor, any of which may have a limit
/// (cgroups(7); the kernel's admin-guide/cgroup-v2 and cgroup-v1/memory).
struct ControlGroup: Hashable, Sendable {
  enum Version: Hashable, Sendable { case one, two }

  var version: Version
  /// The folder with the group's files.
  var folder: String

  /// The process's own group and its ancestors, the innermost first, for each version that is mounted.
  static func all(_ text: SystemText) -> [ControlGroup] {
    guard let own = text.read("/proc/self/cgroup"), let mounts = text.read("/proc/self/mountinfo") else { return [] }
    var groups: [ControlGroup] = []
    for line in own.split(separator: "\n") {
      // number:controllers:path. The path may contain colons.
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { continue }
      let version: Version
      if parts[0] == "0", parts[1].isEmpty {
        version = .two
      } else if parts[1].split(separator: ",").contains("memory") {
        version = .one
      } else {
        continue
      }
      guard let mount = Mount(version, mounts) else { continue }
      groups += mount.folders(String(parts[2])).map { ControlGroup(version: version, folder: $0) }
    }
    return groups
  }

  /// The mount point of a hierarchy, and the folder of the hierarchy that is mounted there.
  private struct Mount {
    var root: String
    var point: String

    init?(_ version: Version, _ mounts: String) {
      for line in mounts.split(separator: "\n") {
        // 36 35 98:0 /root /point options [fields] - type source options
        let words = line.split(separator: " ").map(String.init)
        guard let dash = words.firstIndex(of: "-"), dash >= 6, words.count > dash + 3 else { continue }
        let isWanted =
          version == .two
          ? words[dash + 1] == "cgroup2"
          : words[dash + 1] == "cgroup" && words[dash + 3].split(separator: ",").contains("memory")
        guard isWanted else { continue }
        (root, point) = (Self.unescaped(words[3]), Self.unescaped(words[4]))
        return
      }
      return nil
    }

    /// The folder of a group and its ancestors, up to the mount point.
    func folders(_ path: String) -> [String] {
      var rest = path
      if root != "/" {
        // Inside a container the path may be the host's. The mount is then the container's own group.
        rest = path == root ? "" : path.hasPrefix(root + "/") ? String(path.dropFirst(root.count)) : ""
      }
      // A group outside of the mount has a path with `..`.
      let steps = rest.split(separator: "/").map(String.init)
      guard !steps.contains("..") else { return [point] }
      return (0...steps.count).reversed().map { count in
        steps.prefix(count).reduce(point == "/" ? "" : point) { "\($0)/\($1)" }
      }
    }

    /// Spaces and other special characters are written as `\040`.
    private static func unescaped(_ word: String) -> String {
      guard word.contains("\\") else { return word }
      var bytes: [UInt8] = []
      var rest = Array(word.utf8)[...]
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "\\"), rest.count >= 3,
          let code = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
        {
          bytes.append(code)
          rest = rest.dropFirst(3)
        } else {
          bytes.append(byte)
        }
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }
}

/// How much of their limits the process's control groups use.
///
/// File pages count towards a group, but the kernel reclaims them before it kills a process, and a server that reads
/// large bundles fills any limit with them. So they are left out; if the group lacks them, it shows in ``StallTimes``.
package struct ControlGroupMemory: PressureReadings {
  private let text: SystemText

  package init(_ text: SystemText = .files) { self.text = text }

  package func readings() -> [PressureReading] {
    ControlGroup.all(text).compactMap { group in
      guard let limit = limit(group), limit > 0, let used = used(group) else { return nil }
      return PressureReading(.controlGroup(group.folder), used: Double(used) / Double(limit))
    }
  }

  /// In bytes; nil where there is no limit.
  private func limit(_ group: ControlGroup) -> Int? {
    switch group.version {
    case .one:
      // "No limit" is the largest multiple of the page size.
      guard let limit = text.read("\(group.folder)/memory.limit_in_bytes")?.wholeNumber, limit < 1 << 60 else {
        return nil
      }
      return limit
    case .two:
      // Above `high` the group is throttled severely, above `max` processes are killed.
      return ["memory.max", "memory.high"].compactMap { text.read("\(group.folder)/\($0)")?.wholeNumber }.min()
    }
  }

  private func used(_ group: ControlGroup) -> Int? {
    let name = group.version == .one ? "memory.usage_in_bytes" : "memory.current"
    guard let all = text.read("\(group.folder)/\(name)")?.wholeNumber else { return nil }
    let statistics = text.read("\(group.folder)/memory.stat") ?? ""
    // Version 1 has other names for the sums that include descendants.
    let prefix = group.version == .one ? "total_" : ""
    let files = ["inactive_file", "active_file"].compactMap { statistics.number(after: prefix + $0) }.reduce(0, +)
    return max(all - max(files, 0), 0)
  }
}

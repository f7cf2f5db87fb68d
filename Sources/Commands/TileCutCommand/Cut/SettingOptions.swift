import ArgumentParser
import Support
import TileCut

/// Options of a cut that a manifest has too, in one section of the help.
protocol SettingSection { static var group: CutSetting.Group { get } }

enum SourceSection: SettingSection { static let group = CutSetting.Group.sources }
enum AreaSection: SettingSection { static let group = CutSetting.Group.area }
enum TileSection: SettingSection { static let group = CutSetting.Group.tiles }
enum MetadataSection: SettingSection { static let group = CutSetting.Group.metadata }

/// The options of a section's settings. `CutSetting` has their names, values and help, so that no property stands for
/// one here: the parser finds options in the mirror of this value.
struct SettingOptions<Section: SettingSection>: ParsableArguments, CustomReflectable {
  /// What was given, by the settings' names.
  private(set) var texts: [String: [String]] = [:]

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private static var settings: [CutSetting] { CutSetting.all.filter { $0.group == Section.group } }

  init() {}

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    for setting in Self.settings {
      let key = Key(stringValue: setting.name)
      switch setting.form {
      case .flag: texts[setting.name] = try values.decode(Flag<Bool>.self, forKey: key).wrappedValue ? ["true"] : nil
      case .ofSource: texts[setting.name] = try values.decode(Option<[String]>.self, forKey: key).wrappedValue
      default: texts[setting.name] = try values.decode(Option<String?>.self, forKey: key).wrappedValue.map { [$0] }
      }
      if texts[setting.name]?.isEmpty == true { texts[setting.name] = nil }
    }
  }

  var customMirror: Mirror {
    Mirror(self, children: Self.settings.map { (label: $0.name, value: Self.argument($0)) })
  }

  private static func argument(_ setting: CutSetting) -> Any {
    var help = ArgumentHelp(stringLiteral: setting.help)
    if case .flag = setting.form { return Flag<Bool>(wrappedValue: false, help: help) }
    help.valueName = setting.valueName
    let values: CompletionKind? = setting.values.isEmpty ? nil : .list(setting.values)
    switch setting.form {
    case .ofSource: return Option<[String]>(wrappedValue: [], parsing: .unconditionalSingleValue, help: help)
    // A value may be a negative number.
    case .numbers: return Option<String?>(parsing: .unconditional, help: help, completion: values)
    case .file: return Option<String?>(help: help, completion: .file())
    default: return Option<String?>(help: help, completion: values)
    }
  }
}
